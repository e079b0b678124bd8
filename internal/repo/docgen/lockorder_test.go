package main

import _ "waggle/internal/fs/atomicfile/ordertest"
