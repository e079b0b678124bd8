package claude_test

import _ "waggle/internal/atomicfile/ordertest"
