package home_test

import _ "waggle/internal/atomicfile/ordertest"
