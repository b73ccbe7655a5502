package kube

import "net/http/httptest"

// EndServer ends a server whose streams stay open for minutes. Nobody comes back whose connection it has closed, which it would wait for.
func EndServer(s *httptest.Server) {
	_ = s.Listener.Close()
	s.CloseClientConnections()
	s.Close()
}
