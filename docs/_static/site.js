// Browsers don't let a page read other files. So if the site is opened from files, the
// results of a search have titles only; otherwise each has a few lines of its page.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

// Figures of examples get a frame, in which they scroll on a phone (see site.css).
addEventListener("DOMContentLoaded", () => {
  for (const image of document.querySelectorAll("img.sphx-glr-single-img")) {
    const frame = document.createElement("figure");
    image.replaceWith(frame);
    frame.append(image);
  }
});
