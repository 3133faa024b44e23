// SPDX-License-Identifier: MIT OR Apache-2.0

// Goroutines, pipes, timers, sockets and children of Go; prints no times.
package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"time"
)

func must(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(99)
	}
}

func main() {
	noise, err := os.ReadFile(os.Getenv("IN") + "/noise")
	must(err)
	fmt.Printf("%x\n", sha256.Sum256(noise))

	var group sync.WaitGroup
	sums := make([]uint64, 8)
	for i := range sums {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			for j := uint64(0); j < 3000000; j++ {
				sums[i] = sums[i]*31 + j + uint64(i)
			}
		}(i)
	}
	group.Wait()
	fmt.Println(sums)

	reader, writer, err := os.Pipe()
	must(err)
	go func() {
		for i := 0; i < 20; i++ {
			n, err := writer.Write(noise)
			must(err)
			if n != len(noise) {
				fmt.Println("short write", n)
			}
		}
		writer.Close()
	}()
	n, err := io.Copy(io.Discard, reader)
	must(err)
	fmt.Println("through a pipe", n)

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	go func() {
		connection, err := listener.Accept()
		must(err)
		_, err = connection.Write(noise)
		must(err)
		connection.Close()
	}()
	connection, err := net.Dial("tcp", listener.Addr().String())
	must(err)
	n, err = io.Copy(io.Discard, connection)
	must(err)
	fmt.Println("through a socket", n)

	ticker := time.NewTicker(10 * time.Millisecond)
	for i := 0; i < 10; i++ {
		<-ticker.C
	}
	file, err := os.Create("file")
	must(err)
	for i := 0; i < 10; i++ {
		_, err = file.Write(noise)
		must(err)
		must(file.Sync())
	}
	must(file.Close())
	fmt.Println(exec.Command("sh", "-c", "sleep 0.1; exit 8").Run())
}
