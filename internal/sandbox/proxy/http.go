package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"time"
	"unicode"

	"waggle/internal/cut"
)

// ServeHTTP implements http.Handler: CONNECT makes a tunnel, http:// is forwarded, and
// nothing else is served.
func (c *client) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.busy.Add(1)
	defer c.busy.Done()
	switch {
	case r.Method == http.MethodConnect:
		c.tunnel(w, r)
	case r.URL.Scheme == "http" && r.URL.Host != "":
		c.forward(w, r)
	default:
		refuse(w, http.StatusBadRequest, "waggle: this is the sandbox's proxy; it takes CONNECT HOST:PORT and http:// addresses")
	}
}

// refuse answers a request and ends its connection. The text is the reason phrase too, because many
// programs show that alone of what a proxy answers.
func refuse(w http.ResponseWriter, code int, text string) {
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, text, code) // HTTP/2, which the proxy does not speak
		return
	}
	defer conn.Close()
	text = strings.ToValidUTF8(text, "")
	_ = conn.SetDeadline(time.Now().Add(parting))
	_, err = fmt.Fprintf(conn, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nX-Waggle-Sandbox: refused\r\nConnection: close\r\n\r\n%s\n",
		code, phrase(text), len(text)+1, text)
	if err == nil && closeWrite(conn) == nil {
		_, _ = io.Copy(io.Discard, buf) // closed with data that nobody read, the connection would be reset before the client has the answer
	}
}

// parting is how long a refused client may take to read the answer.
const parting = time.Second

// maxPhrase is the longest reason phrase in bytes.
const maxPhrase = 300

// phrase returns a text as a reason phrase: one line without control characters.
func phrase(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	return cut.Bytes(text, maxPhrase)
}

// request reads the target of an HTTP request.
func (c *client) request(hostport, port, by string) (Request, error) {
	host, given, err := net.SplitHostPort(hostport)
	if err != nil {
		host, given = hostport, port
	}
	host, given, err = parseTarget(host, given)
	if err != nil {
		return Request{}, fmt.Errorf("waggle: %q: %w", hostport, err)
	}
	return Request{Client: c.name, Host: host, Port: given, By: by}, nil
}

// statusOf is 403 for a refused connection and 502 for a host that cannot be reached.
func statusOf(err error) int {
	if _, no := errors.AsType[*refusal](err); no {
		return http.StatusForbidden
	}
	return http.StatusBadGateway
}

// admit makes the connection that an HTTP request asks for. Without one, it has answered why.
func (c *client) admit(w http.ResponseWriter, r *http.Request, hostport, port, by string) (Request, *conn) {
	req, err := c.request(hostport, port, by)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return req, nil
	}
	// The request's context ends when the client hangs up: then nobody is asked any more.
	host, err := c.openTo(r.Context(), req)
	if err != nil {
		refuse(w, statusOf(err), explain(req, err))
	}
	return req, host
}

func (c *client) tunnel(w http.ResponseWriter, r *http.Request) {
	_, host := c.admit(w, r, r.Host, "", byConnect)
	if host == nil {
		return
	}
	defer host.Close()
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		refuse(w, http.StatusInternalServerError, "waggle: "+err.Error())
		return
	}
	_ = conn.SetDeadline(time.Time{})
	if _, err := fmt.Fprint(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		conn.Close()
		return
	}
	join(conn, buf, host)
}

// forward sends one request. Each request is decided and makes a new connection, so that no
// connection outlives its decision.
func (c *client) forward(w http.ResponseWriter, r *http.Request) {
	req, host := c.admit(w, r, r.URL.Host, "80", byHTTP)
	if host == nil {
		return
	}
	defer host.Close()
	used := false
	tr := &http.Transport{DisableKeepAlives: true, DisableCompression: true, DialContext: func(context.Context, string, string) (net.Conn, error) {
		if used {
			return nil, errors.New("the connection has ended")
		}
		used = true
		return host, nil
	}}
	if up := c.p.upstream(req); up != nil && strings.HasPrefix(up.Scheme, "http") {
		tr.Proxy = http.ProxyURL(up) // host is a connection to it
	}
	defer tr.CloseIdleConnections()
	forwarder := httputil.ReverseProxy{
		Rewrite:       func(pr *httputil.ProxyRequest) { pr.Out.Host = pr.Out.URL.Host },
		Transport:     tr,
		FlushInterval: -1,
		ErrorLog:      slog.NewLogLogger(c.p.o.Log.Handler(), slog.LevelDebug),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			refuse(w, http.StatusBadGateway, explain(req, err))
		},
	}
	defer func() {
		// ReverseProxy panics with this value when the host closes its connection in the middle of
		// a response.
		if v := recover(); v != nil {
			panic(http.ErrAbortHandler)
		}
	}()
	forwarder.ServeHTTP(w, r)
}
