package mailbox

import (
	"bytes"
	"fmt"
	"slices"
	"sort"

	"waggle/internal/fs/atomicfile"
	"waggle/protocol"
)

// contents is a file's content with its entries. It is never changed once made.
type contents struct {
	data    []byte
	array   array
	entries []Entry // those that were not needed have no ID and no Envelope
	full    bool    // all were needed
	unread  []int   // indexes of entries
}

// unreads are the entries that are unread.
func (c *contents) unreads() []Entry {
	list := make([]Entry, 0, len(c.unread))
	for _, i := range c.unread {
		list = append(list, c.entries[i])
	}
	return list
}

// contentsOf scans and parses the file in v, with last and need as of parse.
func contentsOf(f format, v atomicfile.View, last *contents, need func([]byte, element) bool) (*contents, error) {
	data, err := v.Bytes()
	if err != nil {
		return nil, err
	}
	a, err := f.scan(data, last)
	if err != nil {
		return nil, err
	}
	return parse(data, a, last, need), nil
}

// parse decodes the entries of a scanned array that need selects; nil selects all. need must select
// all unread entries and, with each entry, all of equal content, because they are numbered by
// occurrence. Entries that are unchanged since old, with which scan compared, are reused: a file
// that grew by one entry costs one decoding.
func parse(data []byte, a array, old *contents, need func([]byte, element) bool) *contents {
	c := &contents{data: data, array: a, entries: make([]Entry, len(a.elems)), full: need == nil}
	begin := 0
	if need == nil && old != nil && old.full {
		begin = a.same
		copy(c.entries, old.entries[:begin])
	}
	for i, el := range a.elems[:begin] {
		e := &c.entries[i]
		e.Raw = data[el.start:el.end:el.end]
		if el.read != readTrue {
			c.unread = append(c.unread, i)
		}
	}
	count := counter(c.entries, begin)
	shift := 0 // how much further in old the next entry is expected
	for i, el := range a.elems[begin:] {
		i += begin
		e := &c.entries[i]
		e.Index = i
		e.Raw = data[el.start:el.end:el.end]
		if need != nil && !need(data, el) {
			continue
		}
		if j := old.find(e.Raw, i+shift); j >= 0 {
			shift = j - i
			was := &old.entries[j]
			e.ID.Hash, e.Envelope, e.Err = was.ID.Hash, was.Envelope, was.Err
		} else {
			e.decode()
		}
		e.ID.Occurrence = count(i)
		if el.read != readTrue {
			c.unread = append(c.unread, i)
		}
	}
	return c
}

// fewNew is up to how many new entries are counted by looking at those before them.
const fewNew = 8

// counter returns what counts the entries up to i of i's content. It is called for
// entries from begin on, in order, for each once it has its hash.
func counter(entries []Entry, begin int) func(i int) int {
	if len(entries)-begin <= fewNew {
		return func(i int) int {
			for j := i - 1; j >= 0; j-- {
				if entries[j].ID.Hash == entries[i].ID.Hash {
					return entries[j].ID.Occurrence + 1
				}
			}
			return 1
		}
	}
	seen := make(map[string]int, len(entries))
	for _, e := range entries[:begin] {
		seen[e.ID.Hash]++
	}
	return func(i int) int {
		seen[entries[i].ID.Hash]++
		return seen[entries[i].ID.Hash]
	}
}

// alike returns what selects the elements that may have the same content as one of
// those that of selects: their timestamps are the same. nil selects all.
func alike(data []byte, elems []element, of func(i int, el element) bool) func([]byte, element) bool {
	m := map[string]bool{}
	for i, el := range elems {
		if of(i, el) {
			if el.wild {
				return nil
			}
			m[string(data[el.stamp:el.stampEnd])] = true
		}
	}
	return func(data []byte, el element) bool {
		return len(m) > 0 && (el.wild || m[string(data[el.stamp:el.stampEnd])])
	}
}

// needUnread selects what Unread needs.
func needUnread(data []byte, a array) func([]byte, element) bool {
	return alike(data, a.elems, func(_ int, el element) bool { return el.read != readTrue })
}

// needIDs selects the entries that marking ids needs when last has decoded all of them; otherwise
// it selects all.
func needIDs(last *contents, ids []ID) func([]byte, element) bool {
	if last == nil {
		return nil
	}
	wanted := set(ids)
	found := 0
	need := alike(last.data, last.array.elems, func(i int, _ element) bool {
		if wanted[last.entries[i].ID] {
			found++
			return true
		}
		return false
	})
	if found < len(wanted) {
		return nil
	}
	return need
}

// knows reports whether all entries that marking ids needs were decoded: they are unread entries,
// which are decoded together with those of equal content.
func (c *contents) knows(ids []ID) bool {
	if c.full {
		return true
	}
	have := make(map[ID]bool, len(c.unread))
	for _, i := range c.unread {
		have[c.entries[i].ID] = true
	}
	return !slices.ContainsFunc(ids, func(id ID) bool { return !have[id] })
}

// lookahead is how many removed entries in a row parse still finds its way over.
const lookahead = 64

// find returns the index of a decoded entry with these bytes at position from or shortly behind it.
func (c *contents) find(raw []byte, from int) int {
	if c == nil {
		return -1
	}
	for j := from; j < min(len(c.entries), from+lookahead); j++ {
		if c.entries[j].ID.Hash != "" && bytes.Equal(c.entries[j].Raw, raw) {
			return j
		}
	}
	return -1
}

// common returns the elements of c that data begins with too. The byte behind the
// last of them is the same as well, so it ends there.
func (c *contents) common(data []byte) []element {
	if c == nil {
		return nil
	}
	same := commonPrefix(c.data, data)
	elems := c.array.elems
	return elems[:sort.Search(len(elems), func(i int) bool { return elems[i].end >= same })]
}

// commonPrefix compares in pieces that the machine compares fast.
func commonPrefix(a, b []byte) int {
	const piece = 4096
	n, i := min(len(a), len(b)), 0
	for i+piece <= n && bytes.Equal(a[i:i+piece], b[i:i+piece]) {
		i += piece
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

func (e *Entry) decode() {
	if len(e.Raw) > maxEntry {
		e.Err = fmt.Errorf("entry: %w: %d bytes, at most %d are read", ErrTooLarge, len(e.Raw), maxEntry)
	} else {
		e.Envelope, e.Err = protocol.ParseEnvelope(e.Raw)
	}
	if e.Err != nil {
		e.Envelope = protocol.Envelope{}
		e.ID.Hash = hashRaw(e.Raw)
		return
	}
	e.ID.Hash = HashOf(e.Envelope)
}
