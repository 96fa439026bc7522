// What the account's pages do better with a script. All of them work without.
"use strict";
