// Package cloud gives tests the token endpoints of clouds, and a way to reach them by their real names. It is for
// _test.go files only.
//
//	var (
//		clouds cloud.Clouds
//		target kube.Server
//	)
//
//	func TestMain(m *testing.M) {
//		clouds.Start()
//		target.TokenWebhook = clouds.TokenWebhook()
//		os.Exit(kube.Run(m, &target))
//	}
//
// The endpoints speak the protocols of the real ones and check what they are sent: signatures, scopes, audiences. What
// they do is decided by Principals: each may be refused, or get tokens that end soon. A cluster that has TokenWebhook
// knows who has a token, as a cluster in a cloud does, and does not know him any more when the token has ended.
//
// The process reaches the endpoints through a proxy that its environment names, and without it at 127.0.0.1:443, which
// takes root. Both stand for all of the Internet: other names are refused.
package cloud
