package draft_test

import _ "waggle/internal/atomicfile/ordertest"
