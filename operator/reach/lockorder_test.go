package reach_test

import _ "waggle/internal/atomicfile/ordertest"
