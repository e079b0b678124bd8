package proposal_test

import _ "waggle/internal/atomicfile/ordertest"
