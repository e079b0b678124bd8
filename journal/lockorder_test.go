package journal_test

import _ "waggle/internal/atomicfile/ordertest"
