"""The table of the 106 cases: allowed addresses of receivers, and how receivers behave. test_cases.py runs them."""

from __future__ import annotations

# 1 to 10: accepted, and dialled.
PUBLIC_ADDRESSES: dict[int, str] = {
    1: "8.8.8.8",
    2: "1.1.1.1",
    3: "100.63.255.255",  # just below carrier-grade NAT
    4: "100.128.0.1",  # just above carrier-grade NAT
    5: "172.15.255.255",
    6: "172.32.0.1",
    7: "169.253.255.255",
    8: "223.255.255.255",
    9: "2606:4700:4700::1111",
    10: "2a00:1450:4001:81b::200e",
}

# 11 to 63: refused by PUT, as a literal and as the answer for a name. At delivery, such an address is never dialled.
REFUSED_ADDRESSES: dict[int, list[str]] = {
    11: ["0.0.0.0"],
    12: ["0.1.2.3"],
    13: ["10.0.0.1"],
    14: ["100.64.0.1"],  # carrier-grade NAT
    15: ["100.100.100.200"],  # Alibaba's metadata
    16: ["100.127.255.254"],
    17: ["127.0.0.1"],
    18: ["127.255.255.254"],
    19: ["169.254.169.254"],  # metadata
    20: ["169.254.170.2"],  # ECS
    21: ["172.16.0.1"],
    22: ["172.31.255.255"],
    23: ["192.0.0.8"],
    24: ["192.0.0.192"],  # Oracle's metadata
    25: ["192.0.2.1"],
    26: ["192.88.99.1"],
    27: ["192.168.1.1"],
    28: ["198.18.0.1"],
    29: ["198.51.100.1"],
    30: ["203.0.113.1"],
    31: ["224.0.0.1"],
    32: ["239.255.255.250"],  # SSDP
    33: ["240.0.0.1"],  # class E
    34: ["255.255.255.255"],
    35: ["::"],
    36: ["::1"],
    37: ["::ffff:127.0.0.1"],
    38: ["::ffff:169.254.169.254"],
    39: ["::ffff:10.0.0.1"],
    40: ["::ffff:8.8.8.8"],  # either result is allowed
    41: ["::127.0.0.1"],  # v4-compatible
    42: ["::169.254.169.254"],
    43: ["64:ff9b::7f00:1"],  # NAT64 of loopback
    44: ["64:ff9b::a9fe:a9fe"],  # NAT64 of metadata
    45: ["64:ff9b::808:808"],  # either result is allowed
    46: ["64:ff9b:1::a00:1"],  # local NAT64
    47: ["100::1"],  # discard
    48: ["2001::1"],  # Teredo
    49: ["2001:0:4136:e378:8000:63bf:3fff:fdd2"],
    50: ["2001:20::1"],  # ORCHIDv2
    51: ["2001:db8::1"],
    52: ["2002:7f00:1::"],  # 6to4 of loopback
    53: ["2002:a9fe:a9fe::"],  # 6to4 of metadata
    54: ["2002:808:808::1"],  # either result is allowed
    55: ["3fff::1"],
    56: ["5f00::1"],  # SRv6
    57: ["fc00::1"],
    58: ["fd00:ec2::254"],  # metadata
    59: ["fd20:ce::254"],  # Google's metadata
    60: ["fe80::1", "febf:ffff::1"],
    61: ["fec0::1"],  # site-local
    62: ["ff02::1"],
    63: ["168.63.129.16"],  # Azure's wire server, in public space
}

# 64 to 68: accepted, and stored as given here.
TAKEN_URLS: dict[int, dict[str, str]] = {
    64: {"https://example.com/hook": "https://example.com/hook"},
    65: {"http://example.com/hook": "http://example.com/hook"},
    66: {
        "https://example.com:8443/hook": "https://example.com:8443/hook",
        "http://example.com:8080/": "http://example.com:8080/",
    },
    67: {"HTTPS://EXAMPLE.com/": "https://example.com/"},
    68: {"https://bücher.example/": "https://xn--bcher-kva.example/"},
}

# 69 to 92: refused by PUT.
REFUSED_URLS: dict[int, list[str]] = {
    69: ["http://2130706433/"],
    70: ["http://0x7f000001/"],
    71: ["http://0177.0.0.1/"],
    72: ["http://127.1/"],
    73: ["http://0/"],
    74: ["http://①②⑦.⓪.⓪.①/"],
    75: ["http://127。0。0。1/"],
    76: ["http://ⓛocalhost/"],
    77: ["http://localhost/", "http://LOCALHOST/", "http://localhost./", "http://a.localhost/"],
    78: ["http://127.0.0.1./"],
    79: ["http://[::ffff:7f00:1]/"],
    80: ["http://[0:0:0:0:0:0:0:1]/"],
    81: ["http://[fe80::1%25eth0]/", "http://[::1%25lo]/"],
    82: ["http://user:pw@example.com/"],
    83: ["http://user@example.com/"],
    84: ["http://@example.com/", "http://:@example.com/"],
    85: ["http://example.com\\@127.0.0.1/"],
    86: ["http://[::1].example.com/"],
    87: ["http://127.0.0.1#@example.com/"],
    88: ["http://example.com#@127.0.0.1/"],
    89: [f"http://ex{odd}ample.com/" for odd in ("\n", "\t", "\r", " ", "\0", "%0d%0a")],
    90: ["http://example.com:0/", "http://example.com:65536/", "http://example.com:８0/"],
    91: ["//example.com/", "http:example.com", "http:///x", "example.com", "", "http://example.com/" + "a" * 2030],
    92: ["ftp://example.com/", "file:///etc/passwd", "gopher://example.com/", "unix:/run/x", "javascript:alert(1)"],
}

# 93 to 106: cases with more than a text: the name of the function that runs the case, and the expected result.
SITUATIONS: dict[int, str] = {
    93: "a name that only means something inside a network: refused, unless it leads to where the operator allows",
    94: "the API's own host: refused; a pod's host: taken",
    95: "a name with a public and a private answer: not dialled",
    96: "a name that is public at PUT and 127.0.0.1 at delivery: taken, not dialled",
    97: "a name that is public at first and 169.254.169.254 at the second question: dialled as answered first",
    98: "an alias of localhost or of a name inside: not dialled",
    99: "a redirect to 169.254.169.254: not followed, a failure with its status",
    100: "one letter at a time: left at the limit",
    101: "100 MB, a gzip bomb, 1 MB of headers, 100 Continue without end: unread, or left",
    102: "a self-signed, expired or wrong certificate: tls",
    103: "a proxy in the environment: ignored",
    104: "a connection kept alive from before the name moved: not used again",
    105: "a name without an answer at PUT: taken, judged at delivery",
    106: "172.18.0.5, which the operator allows: taken, and dialled",
}
