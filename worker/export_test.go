package worker

import "waggle/transport"

// ReadHost is readHost.
var ReadHost = readHost

// Endpoint is the host of a worker's socket.
func Endpoint(w *Worker) transport.Host { return endpoint{w} }
