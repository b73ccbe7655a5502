// Package main runs what cert-manager issues certificates with, for issuers that are self-signed or an authority of
// their own. It stands for cert-manager's own program, whose module is required by folder and never published (see
// https://github.com/cert-manager/cert-manager/blob/v1.21.0/cmd/controller/go.mod), and which brings along the clients
// of every cloud whose DNS can prove who owns a name.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/cert-manager/cert-manager/pkg/controller"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"
)

// These, and the options below, are the defaults of cert-manager's own program.
const (
	workers      = 5 // of each controller
	qps          = 20
	burst        = 50
	minimumPause = time.Hour // between requests that fail
	maximumPause = 32 * time.Hour
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "Kubeconfig of the cluster whose certificates to issue.")
	flag.Parse()
	ctx, stop := signal.NotifyContext(klog.NewContext(context.Background(), klog.Background()), os.Interrupt,
		syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *kubeconfig); err != nil {
		fmt.Fprintln(os.Stderr, "cert-manager:", err)
		os.Exit(1)
	}
}

// run runs all controllers that are imported above until the context is done, or one of them fails.
func run(ctx context.Context, kubeconfig string) error {
	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		Kubeconfig:         kubeconfig,
		KubernetesAPIQPS:   qps,
		KubernetesAPIBurst: burst,
		IssuerOptions:      controller.IssuerOptions{ClusterResourceNamespace: "kube-system"},
		CertificateOptions: controller.CertificateOptions{
			EnableOwnerRef: true, // No default: Secrets go with their Certificates.
			CopiedAnnotationPrefixes: []string{
				"*", "-kubectl.kubernetes.io/", "-fluxcd.io/", "-argocd.argoproj.io/",
			},
			CertificateRequestMinimumBackoffDuration: minimumPause,
			CertificateRequestMaximumBackoffDuration: maximumPause,
		},
	})
	if err != nil {
		return err
	}
	shared, err := factory.Build()
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for name, construct := range controller.Known() {
		c, err := construct(factory)
		if err != nil {
			return fmt.Errorf("cannot make controller %s: %w", name, err)
		}
		group.Go(func() error { return c.Run(workers, ctx) })
	}
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	return group.Wait()
}
