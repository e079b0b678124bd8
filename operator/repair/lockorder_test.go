package repair_test

import _ "waggle/internal/atomicfile/ordertest"
