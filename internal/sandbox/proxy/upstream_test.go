package proxy_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"waggle/internal/sandbox/proxy"
	"waggle/internal/test/testenv"
)

// behind is a world whose machine reaches hosts by a proxy of its own, which the variable names. dialled has what was
// dialled besides that proxy.
func behind(t *testing.T, environ func(addr string) []string, upstream string) (w *world, dialled func() int) {
	t.Helper()
	w = &world{t: t, asks: make(chan ask)}
	server, n := w.listen(echo), make(chan bool, 100)
	at := netip.MustParseAddrPort(upstream)
	w.proxy = proxy.New(proxy.Options{Decider: w, Recorder: &w.record, Now: time.Now, Upstream: proxy.EnvironUpstream(environ(upstream)),
		Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
			switch host {
			case "inside.example.com":
				return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
			case "both.example.com":
				return []netip.Addr{public, netip.MustParseAddr("10.0.0.1")}, nil
			case "elsewhere.example.com":
				return []netip.Addr{public}, nil
			}
			return nil, errors.New("no such host")
		},
		Dial: func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			var d net.Dialer
			if to == at {
				return d.DialContext(ctx, "tcp", upstream)
			}
			n <- true
			return d.DialContext(ctx, "tcp", server)
		}})
	w.proxy.Grant([]proxy.Grant{{ID: "g", Host: "*.example.com"}, {ID: "a", Host: "192.0.2.7"}})
	w.addr = w.serve("ada")
	return w, func() int { return len(n) }
}

// TestUpstream: where the environment names a proxy, hosts are reached by it, by their names, whoever asks in which way.
func TestUpstream(t *testing.T) {
	for _, scheme := range []string{"http", "socks5", "socks5h"} {
		for way, open := range ways {
			t.Run(scheme+" "+way, func(t *testing.T) {
				far := newWorld(t) // the machine's proxy
				far.proxy.Grant([]proxy.Grant{{ID: "far", Host: "*.example.com"}})
				w, dialled := behind(t, func(addr string) []string {
					return []string{"ALL_PROXY=" + scheme + "://" + addr, "NO_PROXY=elsewhere.example.com"}
				}, far.addr)
				c, err := open(w.addr, "host.example.com:80")
				testenv.Must(t, err)
				if c != nil {
					if _, err := fmt.Fprintln(c, "hello"); err != nil {
						t.Error(err)
					}
					if line, err := bufio.NewReader(c).ReadString('\n'); line != "hello\n" {
						t.Errorf("%q %v", line, err)
					}
					w.proxy.Grant(nil) // cuts
					if n, err := c.Read(make([]byte, 1)); err == nil {
						t.Errorf("%d bytes after the revoke", n)
					}
					c.Close()
					w.proxy.Grant([]proxy.Grant{{ID: "g", Host: "*.example.com"}})
				}
				if got, ok := far.record.last(proxy.Opened); !ok || got.Host != "host.example.com" || got.Port != "80" {
					t.Errorf("the machine's proxy was asked for %+v", got)
				}
				if got, ok := w.record.last(proxy.Opened); !ok || got.Address.String() != far.addr {
					t.Errorf("on record is %+v", got)
				}
				for _, host := range []string{"inside.example.com", "both.example.com"} {
					if c, err := open(w.addr, host+":80"); err == nil {
						c.Close()
						t.Errorf("%s let it through to a private address", host)
					}
				}
				if dialled() != 0 {
					t.Error("a host was dialled past the proxy")
				}
				if c, err = open(w.addr, "elsewhere.example.com:80"); err != nil || dialled() != 1 {
					t.Errorf("NO_PROXY: %v, %d", err, dialled())
				}
				if c != nil {
					c.Close()
				}
			})
		}
	}
}

// TestUpstreamRefuses: what the machine's proxy says is what the tool reads.
func TestUpstreamRefuses(t *testing.T) {
	far := newWorld(t)
	far.proxy.Grant([]proxy.Grant{{ID: "no", Host: "*.example.com", Deny: true}})
	w, _ := behind(t, func(addr string) []string { return []string{"https_proxy=http://" + addr} }, far.addr)
	if _, err := connect(w.addr, "host.example.com:443"); err == nil || !strings.Contains(err.Error(), "this machine's proxy "+far.addr+": it answered 403 waggle: ") {
		t.Errorf("%v", err)
	}
	got, ok := w.record.last(proxy.Failed)
	if !ok || got.Grant != "g" {
		t.Errorf("on record is %+v", got)
	}
	w, _ = behind(t, func(addr string) []string { return []string{"https_proxy=ftp://" + addr} }, far.addr)
	if _, err := connect(w.addr, "host.example.com:443"); err == nil || !strings.Contains(err.Error(), `"ftp" is no kind of proxy`) {
		t.Errorf("%v", err)
	}
}

// TestUpstreamLogin: the name and password of the URL go to the proxy, and no further.
func TestUpstreamLogin(t *testing.T) {
	asked := make(chan *http.Request, 2)
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r
		w.WriteHeader(http.StatusProxyAuthRequired)
	}))
	defer far.Close()
	w, _ := behind(t, func(addr string) []string { return []string{"ALL_PROXY=http://ann:geheim@" + addr} }, far.Listener.Addr().String())
	for _, open := range []func(string, string) (net.Conn, error){connect, forwarded} {
		_, err := open(w.addr, "host.example.com:80")
		if user, password, ok := (&http.Request{Header: http.Header{"Authorization": (<-asked).Header["Proxy-Authorization"]}}).BasicAuth(); !ok || user != "ann" || password != "geheim" {
			t.Errorf("%q %q %v", user, password, ok)
		}
		if err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%v", err)
		}
	}
}

// TestUpstreamTLS: to a proxy at an https address waggle speaks TLS, and believes none whose certificate nobody vouches for.
func TestUpstreamTLS(t *testing.T) {
	far := httptest.NewUnstartedServer(http.NotFoundHandler())
	far.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	far.StartTLS()
	defer far.Close()
	w, _ := behind(t, func(addr string) []string { return []string{"HTTPS_PROXY=https://" + addr} }, far.Listener.Addr().String())
	if _, err := connect(w.addr, "host.example.com:443"); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("%v", err)
	}
}

// TestEnvironUpstream: variables as other programs read them.
func TestEnvironUpstream(t *testing.T) {
	for _, c := range []struct {
		environ []string
		by      string
		want    string
	}{
		{[]string{"PATH=/bin", "HTTPS_PROXY="}, "connect", "<nil>"},
		{[]string{"HTTPS_PROXY=http://p:1"}, "connect", "http://p:1"},
		{[]string{"HTTPS_PROXY=http://p:1"}, "http", "<nil>"},
		{[]string{"HTTPS_PROXY=http://p:1", "http_proxy=q:2"}, "http", "http://q:2"},
		{[]string{"ALL_PROXY=socks5://p:1"}, "socks", "socks5://p:1"},
		{[]string{"ALL_PROXY=socks5://p:1", "HTTPS_PROXY=http://q:2"}, "socks", "http://q:2"},
		{[]string{"HTTPS_PROXY=http://p:1", "no_proxy=.example.com"}, "connect", "<nil>"},
		{[]string{"HTTPS_PROXY=http://p:1", "NO_PROXY=*"}, "connect", "<nil>"},
		{[]string{"HTTPS_PROXY=ftp://p:1"}, "connect", "ftp://p:1"}, // which nothing is reached by
	} {
		got := "<nil>"
		if up := proxy.EnvironUpstream(c.environ); up != nil {
			if u := up(proxy.Request{Host: "host.example.com", Port: "443", By: c.by}); u != nil {
				got = u.String()
			}
		}
		if got != c.want {
			t.Errorf("%q by %s: %s, want %s", c.environ, c.by, got, c.want)
		}
	}
}
