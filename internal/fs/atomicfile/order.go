package atomicfile

// checkOrder checks that a ranked lock may be taken; nil outside tests.
var checkOrder func(rank Rank, path string, wait bool) (leave func())

// CheckOrder sets what is asked before a ranked lock is taken; wait is false for a try.
// The check's result is called when the lock is given back. Package ordertest calls
// CheckOrder once, before the program's main function.
func CheckOrder(check func(rank Rank, path string, wait bool) (leave func())) { checkOrder = check }

// enterRank asks the check, if there is one.
func enterRank(rank Rank, path string, wait bool) (leave func()) {
	if rank == 0 || checkOrder == nil {
		return func() {}
	}
	return checkOrder(rank, path, wait)
}
