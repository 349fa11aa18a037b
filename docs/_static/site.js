// A search result usually shows a few lines of the page that was found. If the site is
// opened from files, browsers don't let the script read that page. Then show titles only.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

// Figures of examples get a frame, in which they scroll on a phone (see site.css).
addEventListener("DOMContentLoaded", () => {
  for (const image of document.querySelectorAll("img.sphx-glr-single-img")) {
    const frame = document.createElement("figure");
    image.replaceWith(frame);
    frame.append(image);
  }
});
