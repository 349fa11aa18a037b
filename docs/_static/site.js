// A search result usually shows a few lines of the page that was found. If the site is
// opened from files, browsers don't let the script read that page. Then show titles only.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
