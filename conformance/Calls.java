// Threads, files, pipes and timeouts of Java; prints no times.

import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.net.ServerSocket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

public class Calls {
    public static void main(String[] args) throws Exception {
        byte[] noise = Files.readAllBytes(Path.of(System.getenv("IN"), "noise"));
        System.out.println(HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(noise)));
        try (var pool = new Pool()) {
            List<Future<Long>> sums = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                long start = i;
                sums.add(pool.service.submit(() -> {
                    long sum = start;
                    for (int j = 0; j < 2_000_000; j++) sum = sum * 31 + j;
                    return sum;
                }));
            }
            for (var sum : sums) System.out.println(sum.get());
        }
        Path copy = Path.of("copy");
        try (var channel = FileChannel.open(copy, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            for (int i = 0; i < 10; i++) {
                int written = channel.write(ByteBuffer.wrap(noise));
                if (written != noise.length) System.out.println("short write: " + written);
            }
            channel.force(true);
        }
        System.out.println(Files.size(copy));
        Files.delete(copy);
        var queue = new LinkedBlockingQueue<Integer>();
        for (int i = 0; i < 10; i++) if (queue.poll(20, TimeUnit.MILLISECONDS) != null) System.out.println("?");
        try (var server = new ServerSocket(0)) {
            server.setSoTimeout(100);
            server.accept();
        } catch (SocketTimeoutException expected) {
            System.out.println("accept timed out");
        }
        var out = new PipedOutputStream();
        var in = new PipedInputStream(out);
        var writer = new Thread(() -> {
            try (out) {
                for (int i = 0; i < 100; i++) out.write(noise, i * 1000, 1000);
            } catch (Exception error) {
                System.out.println(error);
            }
        });
        writer.start();
        System.out.println(in.readAllBytes().length);
        var child = new ProcessBuilder("sh", "-c", "sleep 0.1; exit 9").start();
        System.out.println(child.waitFor());
    }

    private static class Pool implements AutoCloseable {
        final java.util.concurrent.ExecutorService service = Executors.newFixedThreadPool(4);

        @Override
        public void close() {
            service.shutdown();
        }
    }
}
