package board_test

import _ "waggle/internal/atomicfile/ordertest"
