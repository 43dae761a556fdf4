// In place of the class that starts brokers in the tests' own process: it describes those that `rocketproof serve` started.
package org.apache.rocketmq.test.base;

import java.io.IOException;
import java.nio.file.Files;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.broker.BrokerController;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.common.namesrv.NamesrvConfig;
import org.apache.rocketmq.namesrv.NamesrvController;
import org.apache.rocketmq.remoting.netty.NettyClientConfig;
import org.apache.rocketmq.remoting.netty.NettyServerConfig;
import org.apache.rocketmq.store.config.MessageStoreConfig;
import org.apache.rocketmq.test.util.MQAdmin;
import org.apache.rocketmq.test.util.TestUtils;
import org.junit.Assert;

public class IntegrationTestBase {
    private static final AtomicInteger BROKERS = new AtomicInteger();

    /** Describes the name server at the port of the property namesrv.port; it is not started here. */
    public static NamesrvController createAndStartNamesrv() {
        NettyServerConfig server = new NettyServerConfig();
        server.setListenPort(Integer.getInteger("namesrv.port"));
        return new NamesrvController(new NamesrvConfig(), server);
    }

    /** Describes broker-a, then broker-b. */
    public static BrokerController createAndStartBroker(String nameServer) throws IOException {
        BrokerConfig config = new BrokerConfig();
        config.setBrokerName("broker-" + (char) ('a' + BROKERS.getAndIncrement()));
        config.setBrokerIP1("127.0.0.1");
        config.setNamesrvAddr(nameServer);
        MessageStoreConfig store = new MessageStoreConfig();
        store.setStorePathRootDir(Files.createTempDirectory("unused").toString());
        return new BrokerController(config, new NettyServerConfig(), new NettyClientConfig(), store);
    }

    public static boolean initTopic(String topic, String nameServer, String cluster, int queues) {
        long end = System.currentTimeMillis() + 30_000;
        while (!MQAdmin.createTopic(nameServer, cluster, topic, queues)) {
            Assert.assertTrue("topic " + topic + " was not created in 30 s", System.currentTimeMillis() < end);
            TestUtils.waitForMoment(500);
        }
        return true;
    }

    public static boolean initTopic(String topic, String nameServer, String cluster) {
        return initTopic(topic, nameServer, cluster, 8);
    }
}
