"""Documents for programs that know nothing of us yet: /llms.txt, /llms-full.txt and files of /.well-known/."""
