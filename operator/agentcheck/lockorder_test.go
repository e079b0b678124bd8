package agentcheck_test

import _ "waggle/internal/atomicfile/ordertest"
