package worker_test

import (
	"testing"

	"golang.org/x/net/idna"

	"waggle/policy"
)

// The host that an agent names is normalised once, before it is judged, shown or opened, or it is
// denied.
func TestReadHost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, host, port string }{
		{"example.com", "example.com", ""},
		{"Example.COM:443", "example.com", "443"},
		{"example.com.", "example.com", ""},
		{"example.com.:443", "example.com", "443"},
		{"https://example.com", "example.com", "443"},
		{"HTTPS://Example.com/", "example.com", "443"},
		{"http://example.com:8080/", "example.com", "8080"},
		{"wss://example.com", "example.com", "443"},
		{"example.com:0443", "example.com", "443"},
		{"bücher.example:443", "xn--bcher-kva.example", "443"},
		{"BÜCHER.example", "xn--bcher-kva.example", ""},
		{"xn--bcher-kva.example:443", "xn--bcher-kva.example", "443"},
		{"ｅｘａｍｐｌｅ.com", "example.com", ""}, // full width
		{"example。com:80", "example.com", "80"},
		{"my_host:80", "my_host", "80"},
		{"db.internal:5432", "db.internal", "5432"},
		{"10.0.0.1:80", "10.0.0.1", "80"},
		{"[::1]:443", "::1", "443"},
		{"[0:0:0:0:0:0:0:1]", "::1", ""},
		{"::ffff:10.0.0.1", "10.0.0.1", ""},
		{"2001:DB8::1", "2001:db8::1", ""},
		// Denied.
		{"", "", ""}, {".", "", ""}, {"..", "", ""}, {"example.com:", "", ""}, {"example.com:0", "", ""},
		{"example.com:65536", "", ""}, {"example.com:http", "", ""}, {"example.com:+80", "", ""},
		{"ftp://example.com", "", ""}, {"https://example.com/path", "", ""}, {"https://user@example.com/", "", ""},
		{"https://example.com?x", "", ""}, {"example.com/path", "", ""}, {"user@example.com", "", ""},
		{"*.example.com", "", ""}, {"*", "", ""}, {"a b.com", "", ""}, {"exa\x00mple.com", "", ""},
		{"exam\u200bple.com..", "", ""}, {"-a.com", "", ""}, {"127.1", "", ""}, {"0x7f000001", "", ""},
		{"010.0.0.1", "", ""}, {"2130706433", "", ""}, {"[::1", "", ""}, {"[::1]x", "", ""}, {"fe80::1%eth0", "", ""},
		{"example.com\\@evil.org", "", ""},
	} {
		host, port, err := policy.ReadHost(c.in, idna.Lookup.ToASCII)
		if (err != nil) != (c.host == "") || host != c.host || port != c.port {
			t.Errorf("%q is %q %q, %v; want %q %q", c.in, host, port, err, c.host, c.port)
			continue
		}
		if err != nil {
			continue
		}
		again, _, err := policy.ReadHost(host, idna.Lookup.ToASCII)
		if err != nil || again != host {
			t.Errorf("%q is not its own normal form: %q, %v", host, again, err)
		}
	}
}
