package team_test

import _ "waggle/internal/atomicfile/ordertest"
