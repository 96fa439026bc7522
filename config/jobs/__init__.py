"""Jobs: a step of operators on up to 100,000 rows, done by the workers at a bounded pace.

A job begins as a draft, which holds the chosen rows. Its operator reads what it means, gives a reason and starts it.
The loop `work.run_due` takes the rows one by one, each in its own transaction, through the rule of the step
(config/admin_steps). Operators see the progress, stop the job, start it again and repeat the rows that failed.
"""
