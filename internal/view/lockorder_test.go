package view_test

import _ "waggle/internal/atomicfile/ordertest"
