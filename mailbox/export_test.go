package mailbox

// For tests of what is not to be seen from outside.

// Scan returns where the elements of an array begin and end and which are marked
// read, those before the error if there is one.
func Scan(data []byte) (elems [][2]int, read []bool, err error) {
	a, err := scanArray(data)
	for _, e := range a.elems {
		elems = append(elems, [2]int{e.start, e.end})
		read = append(read, e.read == readTrue)
	}
	return elems, read, err
}

// Rescan is Scan of data by somebody who scanned old before.
func Rescan(old, data []byte) (elems [][2]int, read []bool, err error) {
	was, err := scanArray(old)
	if err != nil {
		return Scan(data)
	}
	a, err := rescan(data, &contents{data: old, array: was})
	for _, e := range a.elems {
		elems = append(elems, [2]int{e.start, e.end})
		read = append(read, e.read == readTrue)
	}
	return elems, read, err
}

// Mark marks or removes the entries at these positions of a valid array.
func Mark(data []byte, r Retention, at ...int) []byte {
	a, err := scanArray(data)
	if err != nil {
		panic(err)
	}
	c := parse(data, a, nil, nil)
	var ids []ID
	for _, i := range at {
		ids = append(ids, c.entries[i].ID)
	}
	return apply(data, markSplices(c, ids, r))
}

// Mend is the repair of a broken file.
func Mend(data []byte) []byte {
	a, _ := scanArray(data)
	return mend(data, a)
}

const (
	MaxEntry    = maxEntry
	MaxElements = maxElements
)
