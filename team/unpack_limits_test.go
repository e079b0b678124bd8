package team

import (
	"archive/tar"
	"strings"
	"testing"
)

// TestUnpackLimits: a backup exactly at a limit is restored, and one more is refused.
func TestUnpackLimits(t *testing.T) {
	t.Parallel()
	part := strings.Repeat("a", 255)
	name := func(n int) string { // of n bytes, more than 402
		return part[:200] + "/" + part[:200] + "/" + part[:n-402]
	}
	deep := func(n int) string { return strings.Repeat("a/", n-1) + "a" }
	for _, c := range []struct {
		what  string
		set   func(*unpacker, *tar.Header)
		words string // of the refusal of one more
	}{
		{"entries", func(x *unpacker, _ *tar.Header) { x.entries = maxEntries - 1 }, "entries"},
		{"bytes of all", func(x *unpacker, h *tar.Header) { x.total, h.Size = maxTotal-5, 5 }, "has more than"},
		{"bytes of one", func(_ *unpacker, h *tar.Header) { h.Size = maxEntry }, "at most"},
		{"bytes of the list", func(_ *unpacker, h *tar.Header) { h.Name, h.Size = sumsName, maxList }, "at most"},
		{"bytes of the name", func(_ *unpacker, h *tar.Header) { h.Name = name(maxPath) }, "too long"},
		{"bytes of a part", func(_ *unpacker, h *tar.Header) { h.Name = part }, "no file name everywhere"},
		{"parts", func(_ *unpacker, h *tar.Header) { h.Name = deep(maxDeep) }, "too deep"},
	} {
		for _, more := range []int{0, 1} {
			x := &unpacker{u: &Unpacked{}, names: map[string]bool{}}
			h := &tar.Header{Name: "teams/api/x", Typeflag: tar.TypeReg}
			c.set(x, h)
			switch {
			case more == 0:
			case c.what == "entries":
				x.entries++
			case c.what == "bytes of the name":
				h.Name = name(maxPath + 1)
			case c.what == "bytes of a part":
				h.Name += "a"
			case c.what == "parts":
				h.Name = deep(maxDeep + 1)
			default:
				h.Size++
			}
			got, err := x.admit(h)
			if more == 0 && (err != nil || got != h.Name) || more == 1 && (err == nil || !strings.Contains(err.Error(), c.words)) {
				t.Errorf("%s and %d more: %.20q, %v", c.what, more, got, err)
			}
		}
	}
}
