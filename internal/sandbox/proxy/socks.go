package proxy

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/things-go/go-socks5"
	"github.com/things-go/go-socks5/statute"
)

// socks serves one connection that speaks SOCKS version 5. go-socks5 negotiates and reads the
// request. It permits CONNECT alone: BIND would listen outside the sandbox, and UDP ASSOCIATE would
// send from there without a check.
func (c *client) socks(conn *clientConn) {
	_ = conn.SetReadDeadline(time.Now().Add(greeting)) // an error shows in the next read
	server := socks5.NewServer(
		socks5.WithRule(&socks5.PermitCommand{EnableConnect: true}),
		socks5.WithResolver(unresolved{}),
		socks5.WithConnectHandle(func(_ context.Context, _ io.Writer, r *socks5.Request) error { return c.socksConnect(conn, r) }))
	if err := server.ServeConn(conn); err != nil {
		c.p.o.Log.Debug("a SOCKS connection ended", "client", c.name, "error", err)
	}
}

// unresolved leaves names as they are: the proxy decides about a name, then looks it up.
type unresolved struct{}

// Resolve implements socks5.NameResolver.
func (unresolved) Resolve(ctx context.Context, _ string) (context.Context, net.IP, error) {
	return ctx, nil, nil
}

// socksConnect makes the connection that a request asks for.
func (c *client) socksConnect(conn *clientConn, r *socks5.Request) error {
	early, ok := r.Reader.(*bufio.Reader)
	if !ok {
		return errors.New("proxy: go-socks5 reads without a buffer")
	}
	host := r.RawDestAddr.FQDN
	if host == "" {
		host = r.RawDestAddr.IP.String()
	}
	host, port, err := parseTarget(host, strconv.Itoa(r.RawDestAddr.Port))
	if err != nil {
		return errors.Join(err, socks5.SendReply(conn, statute.RepServerFailure, nil))
	}
	ctx, settled := whileOpen(conn, early)
	out, err := c.openTo(ctx, Request{Client: c.name, Host: host, Port: port, By: bySOCKS})
	settled()
	if err != nil {
		return errors.Join(err, socks5.SendReply(conn, socksReason(err), nil))
	}
	defer out.Close()
	// Programs inside do not learn the outer address of the connection.
	if err := socks5.SendReply(conn, statute.RepSuccess, &net.TCPAddr{IP: net.IPv4zero}); err != nil {
		return err
	}
	join(conn, early, out)
	return nil
}

// socksReason is the reply for a connection that was not made.
func socksReason(err error) uint8 {
	if _, no := errors.AsType[*refusal](err); no {
		return statute.RepRuleFailure
	}
	return statute.RepHostUnreachable
}

// whileOpen returns a context that ends when the client closes its connection before settled was
// called. Data that the client sends in that time stays in early.
func whileOpen(conn *clientConn, early *bufio.Reader) (context.Context, func()) {
	_ = conn.SetReadDeadline(time.Time{}) // a closed connection shows in the Peek
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		if _, err := early.Peek(1); err != nil {
			cancel()
		}
	}()
	return ctx, func() {
		_ = conn.SetReadDeadline(time.Unix(1, 0)) // the Peek returns
		<-stopped
		_ = conn.SetReadDeadline(time.Time{})
		cancel()
	}
}
