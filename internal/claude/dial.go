package claude

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"waggle/internal/peer"
)

// longestAnswer is how much of a worker's answer is read.
const longestAnswer = 64 << 10

// dialSecond connects to a second line and says its token, if it has one. The answer is read from
// the reader.
func dialSecond(ctx context.Context, path, proxy string) (c net.Conn, r *bufio.Reader, err error) {
	var d net.Dialer
	rest, proxied := strings.CutPrefix(path, proxyScheme)
	direct := false
	if !proxied {
		rest, direct = strings.CutPrefix(path, tcpScheme)
	}
	address, token, _ := strings.Cut(rest, "/")
	switch {
	case proxied:
		var u *url.URL
		if u, err = url.Parse(proxy); err != nil || u.Host == "" {
			return nil, nil, fmt.Errorf("%q is no proxy (HTTPS_PROXY)", proxy)
		}
		c, err = d.DialContext(ctx, "tcp", u.Host)
	case direct:
		c, err = d.DialContext(ctx, "tcp", address)
	default:
		c, err = d.DialContext(ctx, "unix", path)
	}
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	r = bufio.NewReader(io.LimitReader(c, longestAnswer))
	if u, ok := c.(*net.UnixConn); ok {
		if !peer.Ours(u) {
			return nil, nil, errors.New("another user listens where the worker of this member should")
		}
		return c, r, nil
	}
	if proxied {
		if err := tunnel(c, r, address); err != nil {
			return nil, nil, err
		}
	}
	_, err = io.WriteString(c, token+"\n")
	return c, r, err
}

// tunnel has a proxy connect to an address.
func tunnel(c net.Conn, r *bufio.Reader, address string) error {
	if _, err := fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", address, address); err != nil {
		return err
	}
	resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the proxy says %s", resp.Status)
	}
	return nil
}
