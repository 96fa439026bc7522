"""What operators tell owners: a banner on the pages between two times, and a mail to a chosen group."""
