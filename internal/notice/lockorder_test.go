package notice_test

import _ "waggle/internal/atomicfile/ordertest"
