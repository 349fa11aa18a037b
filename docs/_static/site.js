// Browsers don't let a page read other files. So if the site is opened from files, the
// results of a search have titles only; otherwise each has a few lines of its page.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
