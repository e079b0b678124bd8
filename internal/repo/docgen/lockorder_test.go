package main

import _ "waggle/internal/atomicfile/ordertest"
