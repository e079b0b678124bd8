package relay

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"waggle/spawn"
)

// connect joins in and out to host:port through the proxy, as ssh's ProxyCommand does.
func connect(host, port string, environ []string, in io.Reader, out io.Writer) (int, error) {
	proxy, err := proxyIn(environ)
	if err != nil {
		return CodeFailed, err
	}
	conn, err := net.Dial("tcp", proxy)
	if err != nil {
		return CodeFailed, fmt.Errorf("the proxy of this sandbox is gone, and with it the network: %w", err)
	}
	defer conn.Close()
	target := net.JoinHostPort(host, port)
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target); err != nil {
		return CodeFailed, err
	}
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return CodeFailed, fmt.Errorf("%s: the proxy cut the connection: %w", target, err)
	}
	if resp.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10)) // show the part of the reason that arrived
		return CodeFailed, fmt.Errorf("%s: %s", target, strings.TrimSpace(string(why)))
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = io.Copy(conn, in) // the other direction returns the error
		if c, ok := conn.(*net.TCPConn); ok {
			_ = c.CloseWrite()
		}
	}()
	_, err = io.Copy(out, r)
	if err != nil {
		return CodeFailed, err
	}
	// in may stay open: the process ends, and with it the goroutine.
	return 0, nil
}

// proxyIn is the address of the proxy in an environment.
func proxyIn(environ []string) (string, error) {
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY"} {
		if v := spawn.Getenv(environ, name); v != "" {
			u, err := url.Parse(v)
			if err != nil {
				return "", fmt.Errorf("%s= %w", name, err)
			}
			return u.Host, nil
		}
	}
	return "", errors.New("the environment names no proxy (HTTPS_PROXY): this sandbox has no network")
}
