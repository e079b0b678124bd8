package protocol

import (
	"maps"
	"math"
	"strconv"
	"time"

	"waggle/internal/json/jsontext"
)

// askedHosts reads the hosts of protocol §1.3.
func (f *frame) askedHosts(p *SandboxPermissionRequest, paths []string) {
	hosts := f.hosts(paths...)
	if len(hosts) == 0 {
		f.fail("the request names no host")
		return
	}
	p.HostPattern.Host = hosts[0]
	if len(hosts) > 1 {
		p.Hosts = hosts
		f.warn("the request names %d hosts: all must be answered", len(hosts))
	}
}

// hosts returns the hosts a sandbox payload names, without repetition. Two
// spellings must name the same set, and a host that cannot be read must not be
// left out of what is decided.
func (f *frame) hosts(paths ...string) []string {
	var hosts []string
	var known map[string]bool
	var first string
	for _, fd := range f.all(paths...) {
		list, set, ok := hostSet(fd.raw)
		switch {
		case !ok:
			f.contradict("%s is not a host or an array of hosts", fd.path)
		case known == nil:
			hosts, known, first = list, set, fd.path
		case !maps.Equal(known, set):
			f.contradict("%s and %s differ", first, fd.path)
		default:
			f.warn("%s and %s say the same thing twice", first, fd.path)
		}
	}
	return hosts
}

// hostSet reads one host or an array of hosts: in order, and as a set.
func hostSet(raw string) (hosts []string, set map[string]bool, ok bool) {
	list := []string{raw}
	if raw[0] == '[' {
		list = jsontext.Items(raw)
	}
	set = make(map[string]bool, len(list))
	for _, item := range list {
		if item[0] != '"' || jsontext.Unquote(item) == "" {
			return nil, nil, false
		}
		if host := str(item); !set[host] {
			set[host] = true
			hosts = append(hosts, host)
		}
	}
	return hosts, set, true
}

// capability returns what is asked for when it is not the network: such a
// request is unsupported and is answered with a no (protocol §1.3). The wire form
// has no such key and means the network.
func (f *frame) capability(paths ...string) string {
	raw, ok := f.find(paths...)
	if !ok {
		return ""
	}
	name := raw
	if raw[0] == '"' {
		name = str(raw)
	}
	if name == network && raw[0] == '"' {
		return ""
	}
	f.warn("capability %s is not supported", show(name))
	if name == "" {
		return `""`
	}
	return name
}

// createdAt returns when the request was made, in milliseconds since 1970.
func (f *frame) createdAt(paths ...string) int64 {
	for _, path := range paths {
		raw, ok := f.find(path)
		if !ok {
			continue
		}
		if jsontext.TypeOf(raw) == "number" {
			if ms, ok := millis(raw); ok {
				return ms
			}
		}
		if raw[0] == '"' {
			if t, err := ParseTime(str(raw)); err == nil {
				if path == paths[0] {
					f.warn("%s is a string: read as a time", path)
				}
				return t.UnixMilli()
			}
		}
		f.warn("%s is not a time: ignored", path)
	}
	if t, err := ParseTime(f.env.Timestamp); err == nil {
		f.fallback(paths[0], f.env.Timestamp)
		return t.UnixMilli()
	}
	f.fallback(paths[0], "")
	return 0
}

// millis reads a number of milliseconds that FormatTime can write. Numbers with
// an exponent or a zero fraction are exact in a float64 up to there.
func millis(raw string) (int64, bool) {
	const farthest = 253402300799999 // the end of the year 9999
	n, err := strconv.ParseFloat(raw, 64)
	if err != nil || n != math.Trunc(n) || n < 0 || n > farthest {
		return 0, false
	}
	return int64(n), true
}

func formatMillis(ms int64) string { return FormatTime(time.UnixMilli(ms)) }

// sandboxPermissionResponse ends the reading of protocol §1.4.
func (f *frame) sandboxPermissionResponse(p *SandboxPermissionResponse) Payload {
	v := f.verdict()
	p.Notes = f.text(sandboxNotes.paths...)
	hosts := f.hosts(sandboxHost.paths...)
	switch {
	case v == undecided:
		f.fail("the answer has no decision field")
		return *p
	case len(hosts) == 0:
		f.warn("the answer names no host: it is for the request as a whole")
	case len(hosts) > 1:
		f.warn("the answer names %d hosts, not one: read as a denial", len(hosts))
		v = denied
	}
	if len(hosts) > 0 {
		p.Host = hosts[0]
	}
	p.Allow = v == allowed
	return *p
}
