package session_test

import _ "waggle/internal/atomicfile/ordertest"
