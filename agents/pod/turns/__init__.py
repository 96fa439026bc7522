"""The contract of a turn between engine, bridge, gateway and control plane: what an answer consists of (`events`,
`parts`), who failed (`failures`), and how both are written on the way.
"""
