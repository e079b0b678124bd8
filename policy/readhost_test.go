package policy_test

import (
	"errors"
	"testing"

	"waggle/policy"
)

// TestReadHost: a text is one host and one port, or an error.
func TestReadHost(t *testing.T) {
	ascii := func(s string) (string, error) {
		if s == "müll.example" {
			return "xn--mll-hoa.example", nil
		}
		if s == "bad--.example" {
			return "", errors.New("no")
		}
		return s, nil
	}
	for asked, want := range map[string]string{
		"example.org": "example.org", "Example.ORG.": "example.org", "example.org:443": "example.org:443", "example.org:0443": "example.org:443",
		"http://example.org": "example.org:80", "https://example.org/": "example.org:443", "ws://example.org": "example.org:80",
		"WSS://example.org:8443": "example.org:8443", "localhost": "localhost", "a_b.example": "a_b.example", "müll.example:1": "xn--mll-hoa.example:1",
		"127.0.0.1": "127.0.0.1", "127.0.0.1:65535": "127.0.0.1:65535", "::1": "::1", "[::1]": "::1", "[::1]:80": "::1:80",
		"::ffff:127.0.0.1": "127.0.0.1", "[::1]:1": "::1:1",
		// Texts that some reader resolves to another host.
		"": "", "example.org:": "", "example.org:0": "", "example.org:+1": "", "example.org:65536": "", "example.org:x": "",
		"[::1": "", "[::1]80": "", "[::1]:": "", "[::1]:0": "", "fe80::1%eth0": "", "[fe80::1%eth0]:80": "", "a:b:c": "",
		"ftp://example.org": "", "http://u@example.org": "", "http://example.org/x": "", "http://example.org?x": "", "http://example.org#x": "",
		"127.1": "", "0x7f000001": "", "010.0.0.1": "", "example.org.1": "", "*.example.org": "", "bad--.example": "", "a b": "", "example.org/x": "",
	} {
		host, port, err := policy.ReadHost(asked, ascii)
		got := host
		if port != "" {
			got += ":" + port
		}
		if (err != nil) != (want == "") || got != want {
			t.Errorf("%q: %q, %v; want %q", asked, got, err, want)
		}
	}
	if _, _, err := policy.ReadHost("müll.example", nil); err == nil {
		t.Error("an international name without its ASCII form is taken")
	}
}
