package transport_test

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"waggle/transport"
)

// TestWebOrigins: a request with an Origin comes from a web page, also when the first Origin is
// empty.
func TestWebOrigins(t *testing.T) {
	t.Parallel()
	h := transport.NewWeb(transport.WebOptions{Token: webToken, Now: time.Now, Host: newHost("ann")})
	for _, list := range [][]string{{"https://evil.example"}, {"", "https://evil.example"}, {""}} {
		ln := listen(t, h)
		c, err := net.Dial("tcp", ln)
		must(t, err)
		req := "GET / HTTP/1.1\r\nHost: " + ln + "\r\nAuthorization: Bearer " + webToken + "\r\nConnection: close\r\n"
		for _, o := range list {
			req += "Origin: " + o + "\r\n"
		}
		if _, err := c.Write([]byte(req + "\r\n")); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(c).ReadString('\n')
		if c.Close(); err != nil || !strings.Contains(line, "401") {
			t.Errorf("%q: %q %v", list, line, err)
		}
	}
}

// TestIdleConnections: connections that send nothing do not block others.
func TestIdleConnections(t *testing.T) {
	t.Parallel()
	ln := listen(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	for range 300 {
		c, err := net.Dial("tcp", ln)
		must(t, err)
		defer c.Close()
		must(t, c.SetReadDeadline(time.Now().Add(20*time.Second)))
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get("http://" + ln + "/")
	must(t, err)
	if resp.Body.Close(); resp.StatusCode != http.StatusNoContent {
		t.Error(resp.Status)
	}
}

// TestOldestGoes: of too many silent connections the oldest is ended.
func TestOldestGoes(t *testing.T) {
	t.Parallel()
	state := transport.Impatient()
	var list []net.Conn
	for range 129 {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		state(ours, http.StateNew)
		list = append(list, theirs)
	}
	_ = list[0].SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := list[0].Read(make([]byte, 1)); err == nil || strings.Contains(err.Error(), "timeout") {
		t.Errorf("the oldest: %v", err)
	}
	_ = list[1].SetReadDeadline(time.Now().Add(time.Millisecond))
	if _, err := list[1].Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("the next: %v", err)
	}
}

func listen(t *testing.T, h http.Handler) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- transport.ServeWeb(ctx, ln, h, "", "") }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return ln.Addr().String()
}
