package demo

import _ "waggle/internal/fs/atomicfile/ordertest"
