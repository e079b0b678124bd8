package proxy

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"

	"golang.org/x/net/http/httpproxy"
	"golang.org/x/net/proxy"

	"waggle/spawn"
)

// Upstream returns the proxy through which this machine reaches a request's host, an http, https or socks5 URL; nil:
// none.
type Upstream func(Request) *url.URL

// EnvironUpstream is the Upstream that an environment names as programs read it: HTTP_PROXY for http requests,
// HTTPS_PROXY for all others, ALL_PROXY where these are not set, and not for the hosts of NO_PROXY. nil: it names none.
func EnvironUpstream(environ []string) Upstream {
	get := func(names ...string) (v string) {
		for _, name := range names {
			v = cmp.Or(v, spawn.Getenv(environ, name))
		}
		return v
	}
	all := []string{"all_proxy", "ALL_PROXY"}
	c := httpproxy.Config{HTTPProxy: get(append([]string{"http_proxy", "HTTP_PROXY"}, all...)...),
		HTTPSProxy: get(append([]string{"https_proxy", "HTTPS_PROXY"}, all...)...), NoProxy: get("no_proxy", "NO_PROXY")}
	if c.HTTPProxy == "" && c.HTTPSProxy == "" {
		return nil
	}
	find := c.ProxyFunc()
	return func(r Request) *url.URL {
		to := &url.URL{Scheme: "https", Host: net.JoinHostPort(r.Host, r.Port)}
		if r.By == byHTTP {
			to.Scheme = "http"
		}
		up, err := find(to)
		if err != nil {
			return nil
		}
		return up
	}
}

// upstream is the proxy through which a request goes; nil: none.
func (p *Proxy) upstream(r Request) *url.URL {
	if p.o.Upstream == nil {
		return nil
	}
	return p.o.Upstream(r)
}

// through connects to the host of a permit by the machine's own proxy, which looks the name up itself. A name that is
// known here is checked all the same, by each of its addresses. The address returned is the proxy's. An http request
// gets a connection to the proxy, which takes it as it is.
func (p *Proxy) through(ctx context.Context, up *url.URL, pm permit) (net.Conn, netip.AddrPort, error) {
	none := netip.AddrPort{}
	if err := p.checkNamed(ctx, pm); err != nil {
		return nil, none, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	raw, addr, err := p.reach(ctx, up)
	if err != nil {
		return nil, none, fmt.Errorf("this machine's proxy %s: %w", up.Host, err)
	}
	defer context.AfterFunc(ctx, func() { raw.Close() })()
	to, conn := net.JoinHostPort(pm.req.Host, pm.req.Port), raw
	switch up.Scheme {
	case "socks5", "socks5h":
		conn, err = socksTo(ctx, raw, up, to)
	case "http", "https":
		if pm.req.By != byHTTP {
			conn, err = tunnelTo(ctx, raw, up, to)
		}
	default:
		err = fmt.Errorf("%q is no kind of proxy that is known here (http, https, socks5)", up.Scheme)
	}
	if err != nil {
		raw.Close()
		return nil, none, fmt.Errorf("this machine's proxy %s: %w", up.Host, err)
	}
	return conn, addr, nil
}

// checkNamed refuses an address of no public host, and a name that has one here.
func (p *Proxy) checkNamed(ctx context.Context, pm permit) error {
	addrs, err := p.lookUp(ctx, pm.req.Host, pm.req.Port)
	if err != nil {
		return nil // behind a proxy a machine need not know names
	}
	for _, addr := range addrs {
		if why := p.refuses(addr, pm); why != "" {
			return &refusal{why}
		}
	}
	return nil
}

// reach dials the proxy that a URL names.
func (p *Proxy) reach(ctx context.Context, up *url.URL) (net.Conn, netip.AddrPort, error) {
	addrs, err := p.lookUp(ctx, up.Hostname(), cmp.Or(up.Port(), upstreamPorts[up.Scheme]))
	if err != nil {
		return nil, netip.AddrPort{}, err
	}
	conn, addr, err := p.dialFirst(ctx, addrs, func(netip.AddrPort) string { return "" })
	if conn == nil {
		err = errors.Join(err, errors.New("no address of it answers"))
	}
	return conn, addr, err
}

// upstreamPorts are the ports of proxies whose URL names none.
var upstreamPorts = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}

// tunnelTo asks an HTTP proxy for a tunnel.
func tunnelTo(ctx context.Context, raw net.Conn, up *url.URL, to string) (net.Conn, error) {
	conn := raw
	if up.Scheme == "https" {
		secure := tls.Client(raw, &tls.Config{ServerName: up.Hostname(), MinVersion: tls.VersionTLS12})
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, err
		}
		conn = secure
	}
	ask := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: to}, Host: to, Header: http.Header{}}
	if up.User != nil {
		password, _ := up.User.Password()
		ask.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(up.User.Username()+":"+password)))
	}
	if err := ask.Write(conn); err != nil {
		return nil, err
	}
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, ask)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answered %s", resp.Status)
	}
	return &readAhead{conn, r}, nil
}

// socksTo asks a SOCKS proxy for a connection.
func socksTo(ctx context.Context, raw net.Conn, up *url.URL, to string) (net.Conn, error) {
	var auth *proxy.Auth
	if up.User != nil {
		password, _ := up.User.Password()
		auth = &proxy.Auth{User: up.User.Username(), Password: password}
	}
	d, err := proxy.SOCKS5("tcp", up.Host, auth, nil)
	if err != nil {
		return nil, err
	}
	client, ok := d.(interface {
		DialWithConn(ctx context.Context, c net.Conn, network, address string) (net.Addr, error)
	})
	if !ok {
		return nil, errors.New("a SOCKS client that takes no connection")
	}
	_, err = client.DialWithConn(ctx, raw, "tcp", to)
	return raw, err // after the answer of the proxy all bytes are the host's
}

// readAhead is a connection that is read through a buffer.
type readAhead struct {
	net.Conn
	r *bufio.Reader
}

func (c *readAhead) Read(b []byte) (int, error) { return c.r.Read(b) }

// CloseWrite ends one direction.
func (c *readAhead) CloseWrite() error { return closeWrite(c.Conn) }

// NetConn is the connection below.
func (c *readAhead) NetConn() net.Conn { return c.Conn }

// discard makes the end of a connection drop bytes that were not sent yet.
func discard(c net.Conn) {
	for {
		switch at := c.(type) {
		case *net.TCPConn:
			_ = at.SetLinger(0)
			return
		case interface{ NetConn() net.Conn }:
			c = at.NetConn()
		default:
			return
		}
	}
}
