package demo

import _ "waggle/internal/atomicfile/ordertest"
