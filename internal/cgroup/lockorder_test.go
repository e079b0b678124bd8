package cgroup_test

import _ "waggle/internal/atomicfile/ordertest"
