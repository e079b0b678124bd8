package session_test

import _ "waggle/internal/fs/atomicfile/ordertest"
