// Package kcp gives tests a real kcp. It is for _test.go files only.
//
// One package of tests has one kcp, and each test a workspace of its own:
//
//	var server kcp.Server
//
//	func TestMain(m *testing.M) { os.Exit(kcp.Run(m, &server)) }
//
//	func TestBind(t *testing.T) {
//		path, cfg := server.Workspace(t)
//		...
//	}
//
// A kcp takes some ten seconds to start and 0.6 GB; one that a package shares is worth it. With a service cluster
// beside it, both start at the same time: Run takes *kube.Server too.
//
// Workspaces are below root, of type universal, and isolated from each other as kcp isolates tenants. Configurations
// are the administrator's: what a tenant may do has to be tested with credentials of the workspace, such as a
// ServiceAccount's.
package kcp
