package claudeaccount_test

import _ "waggle/internal/atomicfile/ordertest"
