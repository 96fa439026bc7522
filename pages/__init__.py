"""All pages that people read in a browser, except the admin and an agent's own pages.

`public/` has the pages that anybody may read, `account/` those behind the sign-in. In both, a page's module stands
where its URL says. What both share is here: languages, words, the frame around the content, addresses that are almost
right, and the collector of translations.
"""
