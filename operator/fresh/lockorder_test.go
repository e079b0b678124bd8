package fresh_test

import _ "waggle/internal/atomicfile/ordertest"
