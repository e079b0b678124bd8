package decide_test

import _ "waggle/internal/atomicfile/ordertest"
